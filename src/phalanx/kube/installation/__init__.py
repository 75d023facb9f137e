"""What can be chosen about an installation, and how the choices get into the manifests and into the chart."""

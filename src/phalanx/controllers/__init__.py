"""Controllers: what makes pods and objects for people. They act through `kube` and decide nothing about places."""

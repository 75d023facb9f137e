"""The controller of Volcano's Jobs: a pure core (`decide`) and a thin shell (`controller`)."""

"""The doctor: looks at whatever a scheduler needs, and says of each thing how it is and what mends it."""

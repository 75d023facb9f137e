"""Gangs by annotation and the Queue object of Phalanx, for people who use no other system."""

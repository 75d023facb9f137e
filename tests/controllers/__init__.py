"""Tests of what makes pods and objects for people."""

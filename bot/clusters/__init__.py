"""Clusters the control loop can drive, behind one port."""

"""A discrete-event cluster, trace readers, a workload generator and reports."""

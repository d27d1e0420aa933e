"""The control loop: one writer that joins cluster, engine, storage and announcements."""

"""Everything that touches a person, the clock or a cluster."""

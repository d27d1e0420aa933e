"""What checked Kueue manifests mean to the engine, and how a layout is written as manifests."""

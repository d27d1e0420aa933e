"""The `gpubot` command."""

"""Experiments: each measures one thing and returns numbers; drawing and printing happen elsewhere."""

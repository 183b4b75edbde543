"""Cameras and photographs."""

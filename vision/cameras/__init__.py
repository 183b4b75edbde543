"""Where pictures come from: cameras and photographs."""

"""An elevator below a turntable, and a flipper that rolls the cube: any number of layers."""

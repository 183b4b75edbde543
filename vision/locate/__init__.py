"""Finding the cube's face in a picture."""

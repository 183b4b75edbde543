"""A module for each family of boards; :mod:`robot.computer.board_family` finds them here."""

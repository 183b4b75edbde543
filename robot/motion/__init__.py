"""Motion profiles of one actuator: servo slews and stepper moves, exact to the tick."""

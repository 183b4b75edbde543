"""Linux's own GPIO and PWM, as a Raspberry Pi has them, in a virtual machine."""

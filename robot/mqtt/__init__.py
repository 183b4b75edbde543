"""The robot on an MQTT broker, and in Home Assistant: a program of its own, `cubist-mqtt`."""

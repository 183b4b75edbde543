"""The robot on an MQTT broker, and in Home Assistant: a separate program, `cubist-mqtt`."""

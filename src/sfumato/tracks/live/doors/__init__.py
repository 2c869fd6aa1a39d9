"""Doors of the bridge: HTTP, MQTT, receivers, and what is sent on."""

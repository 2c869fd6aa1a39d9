"""The door for tracks: a file, a frame, a table or a fleet in; a release, its certificate and its warnings out."""

"""What the bot serves over HTTP: its health, its figures, and Slack's requests in HTTP mode."""

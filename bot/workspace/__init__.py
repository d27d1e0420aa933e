"""A local Slack workspace: Web API, Socket Mode and a page, for demo and tests."""

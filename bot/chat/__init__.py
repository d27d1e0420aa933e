"""Slack: grammar, words, cards, handlers and the announcer."""

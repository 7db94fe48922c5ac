"""The common part of screens. Imports neither a screen nor the app."""

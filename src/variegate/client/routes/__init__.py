"""Every route of the service as a call; both clients have these as their methods."""

"""An attack on the running service: replicas are killed, stopped and reconfigured under load.

Run it with ``python -m tools.attack --minutes 10``. Clients write down every acknowledged fact;
while they work, replicas, their engine processes and PostgreSQL are killed or stopped with SIGSTOP
at random, and the settings change between restarts. At the end the store must hold every
acknowledged fact once, nothing that nobody sent, and states equal to what the log gives.
"""

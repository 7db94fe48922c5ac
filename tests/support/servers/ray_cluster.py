"""A Ray cluster of two nodes on this machine; needs the extra `ray`.

python -m tests.support.servers.ray_cluster
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib import import_module

from tests.support.servers.process import READY, watch_parent


def main() -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    # what the workers find in their environment, as it would be set on every node
    os.environ["DOOR"] = "sesame-open-the-door"
    nodes = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    nodes.add_node(num_cpus=1)
    sys.stdout.write(f"{READY}{nodes.address}\n")
    sys.stdout.flush()
    orphaned = watch_parent()
    while not orphaned() and not stop.wait(0.2):
        pass
    nodes.shutdown()


if __name__ == "__main__":
    main()

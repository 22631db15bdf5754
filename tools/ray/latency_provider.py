"""A node provider for Ray's own autoscaler that makes no nodes: it notes when it is asked for one."""
import json
import os
import time

from ray.autoscaler.node_provider import NodeProvider
from ray.autoscaler.tags import TAG_RAY_NODE_KIND, TAG_RAY_NODE_STATUS, TAG_RAY_USER_NODE_TYPE


class NotingProvider(NodeProvider):
    """The head, which runs already, and whatever was asked for, which never comes up."""

    def __init__(self, provider_config, cluster_name):
        super().__init__(provider_config, cluster_name)
        self.nodes = {"head": {TAG_RAY_NODE_KIND: "head", TAG_RAY_USER_NODE_TYPE: "head", TAG_RAY_NODE_STATUS: "up-to-date"}}

    @staticmethod
    def bootstrap_config(cluster_config):
        return cluster_config

    def create_node(self, node_config, tags, count):
        with open(os.environ["LATENCY_FILE"], "a") as f:
            print(json.dumps({"at": time.time(), "pool": tags[TAG_RAY_USER_NODE_TYPE]}), file=f)
        for _ in range(count):
            self.nodes[f"n{len(self.nodes)}"] = dict(tags)

    def create_node_with_resources_and_labels(self, node_config, tags, count, resources, labels):
        self.create_node(node_config, tags, count)

    def non_terminated_nodes(self, tag_filters):
        return [n for n, tags in self.nodes.items() if all(tags.get(k) == v for k, v in tag_filters.items())]

    def is_running(self, node_id):
        return node_id in self.nodes

    def is_terminated(self, node_id):
        return node_id not in self.nodes

    def node_tags(self, node_id):
        return self.nodes[node_id]

    def internal_ip(self, node_id):
        return "127.0.0.1"

    external_ip = internal_ip

    def set_node_tags(self, node_id, tags):
        self.nodes[node_id].update(tags)

    def terminate_node(self, node_id):
        self.nodes.pop(node_id, None)

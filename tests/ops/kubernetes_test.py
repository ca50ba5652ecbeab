"""The DaemonSet: well formed, least privileged, and in step with `bcd`."""
import argparse
import pathlib
import re
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "ops" / "kubernetes" / "bcd-daemonset.yaml"
TOKEN = "/run/secrets/bcd"

# The fields of the API (v1, apps/v1) that a manifest of this kind may have: a
# field that is misspelt is dropped by a server, or refused.
FIELDS = {
    "Namespace": {"apiVersion", "kind", "metadata"},
    "ServiceAccount": {"apiVersion", "kind", "metadata",
                       "automountServiceAccountToken"},
    "DaemonSet": {"apiVersion", "kind", "metadata", "spec"},
    "spec": {"selector", "updateStrategy", "template", "minReadySeconds"},
    "pod": {"serviceAccountName", "automountServiceAccountToken",
            "enableServiceLinks", "hostNetwork", "dnsPolicy",
            "priorityClassName", "terminationGracePeriodSeconds",
            "tolerations", "securityContext", "initContainers", "containers",
            "volumes", "nodeSelector", "affinity"},
    "container": {"name", "image", "command", "args", "env",
                  "securityContext", "resources", "volumeMounts",
                  "livenessProbe", "readinessProbe"},
    "context": {"runAsUser", "runAsGroup", "allowPrivilegeEscalation",
                "readOnlyRootFilesystem", "capabilities", "privileged",
                "seccompProfile"},
    "mount": {"name", "mountPath", "readOnly", "subPath"},
}


class KubernetesTest(unittest.TestCase):
    programs = None

    def setUp(self):
        self.documents = list(yaml.safe_load_all(MANIFEST.read_text()))
        self.set = [d for d in self.documents if d["kind"] == "DaemonSet"][0]
        self.pod = self.set["spec"]["template"]["spec"]
        self.join = self.pod["initContainers"][0]
        self.node = self.pod["containers"][0]

    def only(self, kind, fields):
        self.assertEqual(set(fields) - FIELDS[kind], set(), kind)

    def test_every_field_is_known(self):
        self.assertEqual([d["kind"] for d in self.documents],
                         ["Namespace", "ServiceAccount", "DaemonSet"])
        for document in self.documents:
            self.only(document["kind"], document)
        self.only("spec", self.set["spec"])
        self.only("pod", self.pod)
        for container in (self.join, self.node):
            self.only("container", container)
            self.only("context", container["securityContext"])
            for mount in container["volumeMounts"]:
                self.only("mount", mount)

    def test_names_go_together(self):
        labels = self.set["spec"]["selector"]["matchLabels"]
        self.assertEqual(
            self.set["spec"]["template"]["metadata"]["labels"], labels)
        self.assertEqual({d["metadata"].get("namespace", "better-compute")
                          for d in self.documents}, {"better-compute"})
        volumes = {v["name"] for v in self.pod["volumes"]}
        mounted = {m["name"] for c in (self.join, self.node)
                   for m in c["volumeMounts"]}
        self.assertEqual(mounted, volumes)
        for container in (self.join, self.node):
            self.assertEqual(container["image"], "IMAGE")

    def test_least_privilege(self):
        for container in (self.join, self.node):
            context = container["securityContext"]
            self.assertIs(context["allowPrivilegeEscalation"], False)
            self.assertIs(context["readOnlyRootFilesystem"], True)
            self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
            self.assertNotIn("privileged", context)
        for service_account in (self.pod, self.documents[1]):
            self.assertIs(service_account["automountServiceAccountToken"],
                          False)
        self.assertNotIn("hostPID", self.pod)
        writable = [m["name"] for m in self.node["volumeMounts"]
                    if not m.get("readOnly")]
        self.assertEqual(writable, ["data"])

    def test_the_token(self):
        """Case 171: a file its owner alone can read, shown to the joining
        container alone, and no fsGroup that would widen it."""
        token = [v for v in self.pod["volumes"] if v["name"] == "token"][0]
        self.assertEqual(token["secret"]["defaultMode"], 0o400)
        self.assertIs(token["secret"]["optional"], True)
        self.assertNotIn("fsGroup", self.pod["securityContext"])
        self.assertNotIn("token", [m["name"] for m in
                                   self.node["volumeMounts"]])
        mount = [m for m in self.join["volumeMounts"]
                 if m["name"] == "token"][0]
        # By subPath it would not be what the kubelet keeps up to date.
        self.assertEqual(mount, {"name": "token", "mountPath": TOKEN,
                                 "readOnly": True})
        files = [f"{TOKEN}/{i['path']}" for i in token["secret"]["items"]]
        self.assertIn(f"--token-file={files[0]}", self.join["command"])

    def test_never_two_on_one_machine(self):
        update = self.set["spec"]["updateStrategy"]["rollingUpdate"]
        self.assertEqual(update["maxSurge"], 0)
        self.assertIs(self.pod["hostNetwork"], True)

    def test_the_commands_are_those_of_bcd(self):
        for container, name in ((self.join, "join"), (self.node, "node")):
            program, command, *flags = container["command"]
            self.assertEqual((program, command), ("/usr/bin/bcd", name))
            told = subprocess.run([self.programs / "bcd", name, "--help"],
                                  capture_output=True, text=True, check=True,
                                  timeout=60).stdout
            known = set(re.findall(r"--[\w-]+", told))
            for flag in flags:
                self.assertIn(flag.split("=")[0], known)
        paths = {flag for flag in self.join["command"][2:]
                 if not flag.startswith("--token-file")}
        self.assertEqual(paths, set(self.node["command"][2:]))

    def test_the_page_makes_what_it_mounts(self):
        page = (ROOT / "docs" / "kubernetes.md").read_text()
        config = [v for v in self.pod["volumes"] if v["name"] == "config"][0]
        secret = [v for v in self.pod["volumes"] if v["name"] == "token"][0]
        self.assertIn(f"configmap {config['configMap']['name']} "
                      "--from-file=bcd-config\n", page)
        self.assertIn(f"secret generic {secret['secret']['secretName']} "
                      "--from-file=join-token\n", page)
        self.assertIn("> bcd-config/config.toml", page)
        self.assertIn("> bcd-config/join-encryption.jwk", page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KubernetesTest.programs = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)

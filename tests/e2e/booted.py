"""A Debian of its own under a real systemd: the host's /usr with our programs
laid over it, everything else in memory and in namespaces of its own (files,
processes, host name, network, control groups)."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

WAIT = 90
SYSTEMD = pathlib.Path("/lib/systemd/systemd")

# Of systemd's own units: what services of ours stand on. Nothing of it touches
# what the kernel has once for all.
UNITS = """basic.target sysinit.target sockets.target timers.target
paths.target slices.target local-fs.target local-fs-pre.target swap.target
shutdown.target umount.target final.target network.target network-online.target
multi-user.target emergency.target rescue.target systemd-journald.service
systemd-journald.socket systemd-journald-dev-log.socket""".split()

# First $1: the root; then the folder of programs; then that of units.
BOOT = r"""set -e
ip link set lo up
mount -t tmpfs -o mode=755 tmpfs "$1"
cd "$1"
mkdir -p usr etc/systemd/system proc sys dev run tmp var/lib var/log/journal \
  var/tmp root old over/upper/lib/systemd/system-generators over/work
chmod 1777 tmp var/tmp
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
mkdir -p over/upper/bin
cp "$2"/* over/upper/bin/
mount -t overlay -o lowerdir=/usr,upperdir=over/upper,workdir=over/work \
  overlay usr
mount --bind "$3" usr/lib/systemd/system
mount -t tmpfs tmpfs usr/lib/systemd/system-generators
cp -r "$4"/. etc/
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t tmpfs -o mode=755 tmpfs sys
cp -r "$5"/. sys/
mkdir -p sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
  touch "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
ln -s /proc/self/fd dev/fd
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
touch dev/console
ln -s ../run var/run
mount -t tmpfs -o mode=755 tmpfs run
pivot_root . old
umount -l old
rmdir old
# As systemd does by itself where it is not told that it is in a container:
# credentials come to services by propagation.
mount --make-rshared /
exec setpriv --bounding-set=-sys_time,-sys_module \
  env -i container=test PATH=/usr/bin:/bin /lib/systemd/systemd \
  --unit=multi-user.target --log-target=journal-or-kmsg --show-status=no
"""


def unified():
    """Where the control groups of version 2 are; None when they are not."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        fields = line.split()
        if fields[2] == "cgroup2" and os.access(fields[1], os.W_OK):
            return pathlib.Path(fields[1])
    return None


def obstacle():
    """Why none can be booted here; empty when one can."""
    for program in ("systemctl", "unshare", "nsenter", "setpriv", "ip"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not SYSTEMD.exists():
        return "systemd is not installed"
    if os.geteuid() != 0:
        return "it needs root"
    if unified() is None:
        return "there are no control groups of version 2 to write to"
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup",
         "--fork", "sh", "-ec",
         "mount -t tmpfs tmpfs /tmp && mkdir /tmp/u /tmp/w /tmp/o && mount -t "
         "overlay -o lowerdir=/usr,upperdir=/tmp/u,workdir=/tmp/w o /tmp/o"],
        capture_output=True, text=True)
    if done.returncode:
        return "namespaces cannot be made here: " + done.stderr.strip()
    return ""


class Booted:
    """The machine, until stop()."""

    def __init__(self, programs):
        """`programs`: name in /usr/bin -> file."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="booted-"))
        self.group = unified() / f"bc-test-{uuid.uuid4().hex[:12]}"
        self.group.mkdir()
        bin_folder = self._make("bin")
        for name, file in programs.items():
            # As `install` would leave it: without what a debugger needs.
            subprocess.run(["strip", "-o", bin_folder / name, file],
                           check=True)
            (bin_folder / name).chmod(0o755)
        units = self._make("units")
        for name in UNITS:
            shutil.copy(f"/usr/lib/systemd/system/{name}", units)
        wanted = units / "sysinit.target.wants"
        wanted.mkdir()
        (wanted / "systemd-journald.service").symlink_to(
            "../systemd-journald.service")
        self._write_etc()
        self._write_sys()
        (self.folder / "root").mkdir()
        self.log = (self.folder / "log").open("w")
        # It enters its control group before the namespace that hides the rest.
        self.process = subprocess.Popen(
            ["sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', self.group,
             "unshare", "--mount", "--pid", "--uts", "--ipc", "--net",
             "--cgroup", "--fork", "--kill-child", "sh", "-c", BOOT, "sh",
             *(self.folder / n for n in ("root", "bin", "units", "etc",
                                         "sys"))],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _make(self, name):
        (self.folder / name).mkdir(parents=True)
        return self.folder / name

    def _write_etc(self):
        etc = self._make("etc")
        for name, text in {
                "passwd": "root:x:0:0:root:/root:/bin/sh\n"
                          "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
                "group": "root:x:0:\nnogroup:x:65534:\n"
                         "systemd-journal:x:998:\n",
                "nsswitch.conf": "passwd: files systemd\n"
                                 "group: files systemd\nhosts: files\n",
                "hosts": "127.0.0.1 localhost\n", "hostname": "booted\n",
                "machine-id": uuid.uuid4().hex + "\n",
                "ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n"}.items():
            (etc / name).write_text(text)
        shutil.copy("/etc/ld.so.cache", etc)
        # Programs of the base system are links through it.
        shutil.copytree("/etc/alternatives", etc / "alternatives",
                        symlinks=True)

    def _write_sys(self):
        dmi = self._make("sys/class/dmi/id")
        # A network card whose device is away: it is asked for, by a socket.
        card = self._make("sys/class/net/eth0")
        device = self._make("sys/devices/pci0000:00/0000:00:01.0")
        self._make("sys/bus/pci")
        (card / "type").write_text("1\n")
        (card / "device").symlink_to(
            "../../../devices/pci0000:00/0000:00:01.0")
        (device / "subsystem").symlink_to("../../../bus/pci")
        for name, text in (("product_uuid", str(uuid.uuid4())),
                           ("product_serial", "BOOTED-1")):
            (dmi / name).write_text(text + "\n")
            (dmi / name).chmod(0o400)

    def _wait(self):
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            self.first = self._first()
            if self.first and self.run("systemctl", "is-active",
                                       "multi-user.target",
                                       check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError("systemd did not come up:\n" +
                             (self.folder / "log").read_text()[-3000:])

    def _first(self):
        """The host's number of its first process; None before it is
        systemd."""
        outer = self.process.pid
        try:
            children = pathlib.Path(
                f"/proc/{outer}/task/{outer}/children").read_text().split()
            name = pathlib.Path(f"/proc/{children[0]}/comm").read_text()
        except (OSError, IndexError):
            return None
        return int(children[0]) if name.strip() == "systemd" else None

    @property
    def root(self):
        """Its files, as the host reaches them."""
        return pathlib.Path(f"/proc/{self.first}/root")

    def run(self, *words, check=True, given=None, **env):
        done = subprocess.run(
            ["nsenter", f"--target={self.first}", "--mount", "--pid", "--uts",
             "--ipc", "--net", "--cgroup", "--root", "--wdns=/root", "env",
             "-i", "PATH=/usr/sbin:/usr/bin", "SYSTEMD_COLORS=0",
             "SYSTEMD_PAGER=", *(f"{k}={v}" for k, v in env.items()),
             *map(str, words)],
            capture_output=True, text=True, timeout=WAIT,
            **({"input": given} if given is not None
               else {"stdin": subprocess.DEVNULL}))
        if check and done.returncode:
            raise AssertionError(
                f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def systemctl(self, *words):
        """Its output; with all that is known when it fails."""
        done = self.run("systemctl", *words, check=False)
        if done.returncode:
            raise AssertionError(
                f"systemctl {words}: {done.stderr}" + self.run(
                    "journalctl", "-n", "60", "-o", "cat").stdout)
        return done.stdout

    def show(self, unit, *names):
        """Properties of a unit."""
        text = self.systemctl("show", unit, *(f"-p{n}" for n in names))
        found = dict(line.split("=", 1) for line in text.splitlines())
        return [found[n] for n in names]

    def said(self, unit):
        return self.run("journalctl", "-u", unit, "-o", "cat").stdout

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.log.close()
        deadline = time.monotonic() + WAIT
        # What it leaves of them is empty once its processes are gone.
        while self.group.exists() and time.monotonic() < deadline:
            for folder, _, _ in os.walk(self.group, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
            time.sleep(0.05)
        shutil.rmtree(self.folder)

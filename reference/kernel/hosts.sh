# Sourced by the scripts of this folder: hosts in namespaces, each with a cgroup for its programs, and boxes between them.
headway=${HEADWAY:-$PWD/target/release/headway}
work=$(mktemp -d)
prefix=hw-$$-kernel
cgroups=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)

cleanup() {
  local name folder
  for name in $(ip netns list | awk -v p="$prefix" 'index($1, p) == 1 {print $1}'); do
    ip netns pids "$name" | xargs -r kill -9 2>/dev/null || true
    ip netns delete "$name" || true
  done
  sleep 0.5
  for folder in "$cgroups/$prefix"-*; do if [ -d "$folder" ]; then rmdir "$folder" || true; fi; done
  rm -rf "$work"
}
trap cleanup EXIT

# A program in a namespace, and in its cgroup: `ip netns exec` would hide the cgroups.
inside() { # host, program...
  local host=$1
  shift
  (
    echo $BASHPID >"$cgroups/$prefix-$host/cgroup.procs"
    exec nsenter --net="/run/netns/$prefix-$host" "$@"
  )
}

add_host() { # host
  ip netns add "$prefix-$1"
  mkdir "$cgroups/$prefix-$1"
  ip -n "$prefix-$1" link set lo up
  # Windows are never the limit, and no run learns from another.
  inside "$1" sysctl -qw net.ipv4.tcp_rmem="4096 8388608 67108864" net.ipv4.tcp_wmem="4096 131072 67108864" \
    net.ipv4.tcp_no_metrics_save=1 net.ipv6.conf.all.disable_ipv6=1
}

# The hosts a and b with this number, and a box between them. `segs` is the gso_max_segs of their devices.
link() { # number, options of the box
  local id=$1 host
  shift
  for host in a m b; do add_host "$id$host"; done
  for host in a b; do
    ip -n "$prefix-${id}m" link add "hw$host" type veth peer name eth0 netns "$prefix-$id$host"
    ip -n "$prefix-${id}m" link set "hw$host" up
    ip -n "$prefix-$id$host" link set eth0 gso_max_segs "${segs:-1}" up
  done
  ip -n "$prefix-${id}a" addr add 10.79.0.1/24 dev eth0
  ip -n "$prefix-${id}b" addr add 10.79.0.2/24 dev eth0
  inside "${id}m" nice -n -10 "$headway" box hwa hwb --ready-file "$work/ready$id" "$@" >"$work/box$id" 2>&1 &
  until [ -e "$work/ready$id" ]; do sleep 0.05; done
  rm "$work/ready$id"
}

unlink_all() { # numbers
  local id host
  for id in "$@"; do
    for host in a b m; do ip netns pids "$prefix-$id$host" | xargs -r kill 2>/dev/null || true; done
  done
  wait
  for id in "$@"; do
    for host in a m b; do
      ip netns delete "$prefix-$id$host"
      rmdir "$cgroups/$prefix-$id$host"
    done
  done
}

attach() { # host, options
  local host=$1
  shift
  nsenter --net="/run/netns/$prefix-$host" "$headway" kernel attach --cgroup "$cgroups/$prefix-$host" --interface eth0 \
    --ready-file "$work/attached$host" "$@" >"$work/attach$host" 2>&1 &
  attached=$!
  until [ -e "$work/attached$host" ]; do
    kill -0 "$attached" 2>/dev/null || { cat "$work/attach$host" >&2; exit 1; }
    sleep 0.05
  done
  rm "$work/attached$host"
}

# What a counter of a host's programs says.
counter() { # host, name
  "$headway" kernel status --json | jq --arg cgroup "$cgroups/$prefix-$1" --arg name "$2" \
    '[.attached[] | select(.cgroup == $cgroup) | .counters[$name]] | add // 0'
}

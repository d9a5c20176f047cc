# The first process of the guest executes this script. It makes the RDMA devices, and prints "ready"
# and its uptime. Then it reads the numbers of commands, and starts each command. When a command has
# ended, it prints the number and the exit status of the command.
. /job/config
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
# /share is mounted with a cache, because programs are started from it. What a command writes there
# is visible outside of the guest when the command has ended.
if [ "$share" = yes ]; then mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose share /share; fi
ulimit -l unlimited
ulimit -n 65536
hostname "guest$number"
# The shell of busybox would run busybox's own ip in place of /bin/ip if no path were given.
/bin/ip link set lo up
/bin/ip addr add 10.0.2.15/24 dev eth0
/bin/ip link set eth0 up
if [ -n "$number" ]; then
  /bin/ip addr add "10.8.0.$number/24" dev eth1
  /bin/ip link set eth1 up
  dropbear -r /etc/key -s
fi
modprobe -a ib_uverbs rdma_ucm
for device in $devices; do
  type=${device%%:*} on=${device#*:}
  case $on in
  dummy*)
    modprobe dummy numdummies=0
    /bin/ip link add "$on" type dummy
    /bin/ip addr add "10.9.${on#dummy}.1/24" dev "$on"
    /bin/ip link set "$on" up
    ;;
  esac
  case $type in rxe) modprobe rdma_rxe ;; *) modprobe "$type" ;; esac
  rdma link add "${type}_$on" type "$type" netdev "$on" || echo "cannot make $device"
done
for port in /sys/class/virtio-ports/*; do
  if [ "$(cat "$port/name")" = control ]; then control=/dev/${port##*/}; fi
done
exec 3<>"$control"
read -r uptime _ </proc/uptime
echo "ready $uptime" >&3
cd /share
while read -r number <&3; do
  (
    sh "/job/$number.sh" </dev/null >"/job/$number.out" 2>&1 3>&-
    status=$?
    sync
    echo "$number $status" >&3
  ) &
done

# The first process of a host executes this script. It mounts the directories and
# files that belong to this host alone, and prints "ready". Then it waits for a line
# on its input, which means that the network is connected. It starts sshd if there is
# a configuration, prints "up", and reaps orphaned processes for ever.
# usage: sh host.sh DIR NAME
set -e
dir=$1 name=$2
mount -t proc proc /proc
echo "$name" >/proc/sys/kernel/hostname
mount --bind "$dir/$name.boot_id" /proc/sys/kernel/random/boot_id
mount -t tmpfs -o size=1g,mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mount --bind "$dir/hosts" /etc/hosts
mkdir /run/sshd
echo ready
read -r word
ip link set lo up
ip link set eth0 up
if [ -e "$dir/$name.sshd" ]; then
	/usr/sbin/sshd -f "$dir/$name.sshd" -E "$dir/$name.log"
	# sshd goes to the background before it listens.
	tries=0
	until grep -qs "Server listening" "$dir/$name.log"; do
		tries=$((tries + 1))
		[ "$tries" -lt 1000 ]
		sleep 0.01
	done
fi
echo up
exec >/dev/null 2>&1 </dev/null
while :; do sleep 3600 & wait $!; done

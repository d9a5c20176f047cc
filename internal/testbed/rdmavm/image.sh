# Makes vmlinux and initrd in the current directory of the packages in debs: kernel
# modules and programs for RDMA, and a first process that runs what is in the guest's job.
# usage: sh image.sh KERNEL     (as in 6.1.0-56-amd64)
set -eu
kernel=$1
modules="virtio_pci virtio_net virtio_console virtio_rng 9pnet_virtio 9p dummy sch_netem
  rdma_ucm ib_uverbs rdma_rxe siw crc32_generic crc32c_generic"
unpack() { dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink --no-same-owner; }

mkdir -p root/usr/bin root/usr/sbin root/usr/lib root/usr/lib64
for d in bin sbin lib lib64; do ln -s "usr/$d" "root/$d"; done
for d in proc sys dev run tmp etc share job; do mkdir "root/$d"; done
for deb in debs/*.deb; do
  case $deb in debs/linux-*) ;; *) unpack "$deb" root ;; esac
done
# The guest's own programs, so that this machine needs none of them.
own() {
  as=$1 program=$2
  shift 2
  root/lib64/ld-linux-x86-64.so.2 --library-path root/usr/lib/x86_64-linux-gnu --argv0 "$as" "root/bin/$program" "$@"
}
kmod() {
  as=$1
  shift
  own "$as" kmod "$@"
}

# Debian does not set CONFIG_RDMA_SIW: compile it against the headers, which name each
# other by absolute paths.
mkdir kernel siw
for deb in debs/linux-*.deb; do unpack "$deb" kernel; done
headers=$PWD/kernel/usr/src/linux-headers-$kernel
sed -i "s#include /usr/src/#include $PWD/kernel/usr/src/#" "$headers/Makefile"
source=$(ls kernel/usr/src/linux-source-*.tar.xz)
own xz xz -dc "$source" | tar -x -C siw --strip-components=5 "$(basename "$source" .tar.xz)/drivers/infiniband/sw/siw"
make -s -C "$headers" M="$PWD/siw" CONFIG_RDMA_SIW=m modules
mkdir -p "kernel/lib/modules/$kernel/extra"
cp siw/siw.ko "kernel/lib/modules/$kernel/extra/"
kmod depmod -b kernel "$kernel"

rm -rf root/usr/share root/usr/lib/systemd root/usr/lib/x86_64-linux-gnu/gconv root/var
for applet in $(root/bin/busybox --list); do
  [ -e "root/bin/$applet" ] || [ -e "root/sbin/$applet" ] || ln -s busybox "root/bin/$applet"
done
into=root/lib/modules/$kernel
# modprobe does not list what crypto finds by name: the crc modules above.
kmod modprobe -d "$PWD/kernel" -S "$kernel" -a --show-depends $modules | sed -n 's/^insmod *//p' | sort -u |
  while read -r file _; do
    dir=$into/$(dirname "${file#*"/$kernel/"}")
    mkdir -p "$dir"
    cp "$file" "$dir/"
  done
cp "kernel/lib/modules/$kernel/modules.builtin" "kernel/lib/modules/$kernel/modules.order" "$into/"
kmod depmod -b root "$kernel"
# Without symbols of the debugger and signatures, which an emulated processor checks slowly.
find "$into" -name '*.ko' -exec strip --strip-debug {} +
echo 'root:x:0:0:root:/tmp:/bin/sh' >root/etc/passwd
echo /bin/sh >root/etc/shells
printf '127.0.0.1 localhost\n10.8.0.1 guest1\n10.8.0.2 guest2\n' >root/etc/hosts
printf 'passwd: files\nshadow: files\nhosts: files\n' >root/etc/nsswitch.conf
# Guests of one wire reach each other by ssh, with one key. The options are for another ssh.
own dropbearkey dropbearkey -t ed25519 -f root/etc/key >key.pub
mkdir -m 700 root/tmp/.ssh
grep '^ssh-ed25519' key.pub >root/tmp/.ssh/authorized_keys
cat >root/bin/ssh <<'EOF'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec dbclient -y -y -T -i /etc/key "$@"
EOF
chmod 755 root/bin/ssh
cat >root/init <<'EOF'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
modprobe -a virtio_pci virtio_console virtio_net virtio_rng 9pnet_virtio 9p
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 job /job
. /job/init.sh
EOF
chmod 755 root/init
(cd root && find . | bin/busybox cpio -o -H newc -R 0:0) >initrd

# The kernel as it is once it has unpacked itself, which takes an emulated processor as long as
# the rest of the start. Where the packed one is, and how long, the header says (Linux's
# Documentation/x86/boot.rst); the last four bytes are no part of it.
packed=kernel/boot/vmlinuz-$kernel
header() { od -An -v -t "u$2" -j "$1" -N "$2" "$packed" | tr -d ' '; }
from=$((($(header 497 1) + 1) * 512 + $(header 584 4)))
tail -c "+$((from + 1))" "$packed" | head -c "$(($(header 588 4) - 4))" | own xz xz -dc >vmlinux

# Makes vmlinuz and initrd in the current directory of the packages in debs: kernel
# modules and programs for RDMA, and init.sh as the first process.
# usage: sh image.sh KERNEL     (as in 6.1.0-56-amd64)
set -eu
kernel=$1
modules="virtio_pci virtio_net virtio_console virtio_rng 9pnet_virtio 9p dummy sch_netem
  rdma_ucm ib_uverbs rdma_rxe siw crc32_generic crc32c_generic"
PATH=$PATH:/usr/sbin:/sbin
unpack() { dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink --no-same-owner; }

# Debian does not set CONFIG_RDMA_SIW: compile it against the headers, which name each
# other by absolute paths.
mkdir kernel siw
for deb in debs/linux-*.deb; do unpack "$deb" kernel; done
headers=$PWD/kernel/usr/src/linux-headers-$kernel
sed -i "s#include /usr/src/#include $PWD/kernel/usr/src/#" "$headers/Makefile"
source=$(ls kernel/usr/src/linux-source-*.tar.xz)
tar -xJf "$source" -C siw --strip-components=5 "$(basename "$source" .tar.xz)/drivers/infiniband/sw/siw"
make -s -C "$headers" M="$PWD/siw" CONFIG_RDMA_SIW=m modules
mkdir -p "kernel/lib/modules/$kernel/extra"
cp siw/siw.ko "kernel/lib/modules/$kernel/extra/"
depmod -b kernel "$kernel"

mkdir -p root/usr/bin root/usr/sbin root/usr/lib root/usr/lib64
for d in bin sbin lib lib64; do ln -s "usr/$d" "root/$d"; done
for d in proc sys dev run tmp etc share job; do mkdir "root/$d"; done
for deb in debs/*.deb; do
  case $deb in debs/linux-*) ;; *) unpack "$deb" root ;; esac
done
rm -rf root/usr/share root/usr/lib/systemd root/usr/lib/x86_64-linux-gnu/gconv root/var
for applet in $(root/bin/busybox --list); do
  [ -e "root/bin/$applet" ] || [ -e "root/sbin/$applet" ] || ln -s busybox "root/bin/$applet"
done
into=root/lib/modules/$kernel
# modprobe does not list what crypto finds by name: the crc modules above.
modprobe -d "$PWD/kernel" -S "$kernel" -a --show-depends $modules | sed -n 's/^insmod *//p' | sort -u |
  while read -r file _; do
    dir=$into/$(dirname "${file#*"/$kernel/"}")
    mkdir -p "$dir"
    cp "$file" "$dir/"
  done
cp "kernel/lib/modules/$kernel/modules.builtin" "kernel/lib/modules/$kernel/modules.order" "$into/"
depmod -b root "$kernel"
echo 'root:x:0:0:root:/tmp:/bin/sh' >root/etc/passwd
echo '127.0.0.1 localhost guest' >root/etc/hosts
printf 'passwd: files\nhosts: files\n' >root/etc/nsswitch.conf
cp init.sh root/init
chmod 755 root/init
(cd root && find . | bin/busybox cpio -o -H newc -R 0:0) >initrd
cp "kernel/boot/vmlinuz-$kernel" vmlinuz

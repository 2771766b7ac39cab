#!/bin/sh
# Makes a control group with little memory, and swap, for as long as its standard input is
# open; undoes both afterwards, however whoever holds the input ends.
#
#     little_memory.sh NAME LIMIT_BYTES SWAP_BYTES zram|file
#
# Says "ready PATH", the file that takes the numbers of processes into the group, or
# "cannot WHY".
name=$1 limit=$2 bytes=$3 kind=$4
group= device= backing=

cannot() {
    echo "cannot $*"
    exit 0
}

undo() {
    if [ -n "$group" ]; then
        while read -r process; do kill -KILL "$process"; done <"$group/cgroup.procs"
        # What was killed is gone a moment later.
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            rmdir "$group" 2>/dev/null && break
            sleep 0.05
        done
    fi
    if [ -n "$device" ]; then
        swapoff "$device" 2>/dev/null
        case $device in
        /dev/zram*) echo 1 >"/sys/block/${device#/dev/}/reset" ;;
        *) losetup --detach "$device" ;;
        esac
    fi
    [ -z "$backing" ] || rm -f "$backing"
}
trap undo EXIT
trap 'exit 1' HUP INT TERM

# Swap is the whole machine's: one such test at a time.
exec 9>"${TMPDIR:-/tmp}/fathomp-tests-swap.lock" || cannot "make a lock file"
flock --timeout 60 9 || cannot "have swap: another test has it"

if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    group=/sys/fs/cgroup/memory/$name
    mkdir "$group" 2>/dev/null || { group=; cannot "make control groups here"; }
    echo "$limit" >"$group/memory.limit_in_bytes" || cannot "limit memory"
elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/$name
    mkdir "$group" 2>/dev/null || { group=; cannot "make control groups here"; }
    echo "$limit" >"$group/memory.max" || cannot "limit memory"
else
    cannot "limit memory: there is no memory controller here"
fi

if [ "$kind" = zram ]; then
    [ "$(cat /sys/block/zram0/disksize 2>/dev/null)" = 0 ] || cannot "have /dev/zram0"
    echo "$bytes" 2>/dev/null >/sys/block/zram0/disksize || cannot "set up /dev/zram0"
    device=/dev/zram0
else
    backing=$(mktemp) && truncate --size "$bytes" "$backing" || cannot "make a file for swap"
    device=$(losetup --find --show "$backing" 2>/dev/null) || { device=; cannot "make a loop device"; }
fi
mkswap "$device" >/dev/null 2>&1 && swapon --priority 100 "$device" 2>/dev/null || cannot "switch swap on"
echo "ready $group/cgroup.procs"
# Until the input ends.
cat >/dev/null

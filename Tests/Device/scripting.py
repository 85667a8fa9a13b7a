"""What the scripts that run in the machine have in common."""

# await TEXT COUNT [FILE]: until the file (events) has so many lines with that text. The process that writes it must be
# in $writer.
FUNCTIONS = r"""
cd /out
await() {
    until [ "$(grep -c "$1" "${3:-events}")" -ge "$2" ]; do
        kill -0 $writer || { echo "the program ended while \"$1\" was awaited"; cat "${3:-events}"; exit 99; } >&2
        usleep 20000
    done
}
# As await, but so many lines more.
await_more() { await "$1" $(($(grep -c "$1" "${3:-events}") + $2)) "${3:-events}"; }
# A camera that came back while its old node was still open has another number.
inject() { v4l2-ctl -d "$(ls /dev/video* | head -n 1)" --set-ctrl="$1=1" >/dev/null; }
unplug() { echo vivid.0 >/sys/bus/platform/drivers/vivid/unbind; }
plug_in() { echo vivid.0 >/sys/bus/platform/drivers/vivid/bind; }
now() { read -r seconds _ </proc/uptime; echo $seconds; }
# On each of two processors; see stalls.py.
watch_stalls() { for cpu in 1 2; do taskset $cpu camera-probe stalls >stalls$cpu & done; }
"""

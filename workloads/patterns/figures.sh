#!/bin/sh
# Measures the patterns whose figures the thesis prints, and writes for each a table
# (FIGURE.csv: time and speed-up at each number of threads) and a gnuplot script
# (FIGURE.gp, which makes FIGURE.svg).
#
#   figures.sh OUTPUT [THREADS...]      by default 1 and all processors
#   REPEAT=5 RUNS=3 FATHOMP=fathomp     timed repetitions, runs of which the fastest counts
set -eu

output=${1:?"usage: figures.sh OUTPUT [THREADS...]"}
shift
[ $# -gt 0 ] || set -- 1 "$(nproc)"
threads=$*
repeat=${REPEAT:-5} runs=${RUNS:-3} fathomp=${FATHOMP:-fathomp}
mkdir -p "$output"
# What cannot be built is said now, not shown as no time.
"$fathomp" workload build working_set order2d order3d synthetic > /dev/null

# seconds NAME THREADS ARGUMENT...: of the fastest run, for one repetition
seconds() {
    name=$1 team=$2
    shift 2
    for _ in $(seq "$runs"); do
        OMP_PROC_BIND=true "$fathomp" workload run "$name" --threads "$team" -- --repeat "$repeat" "$@" |
            tail -n 1 | sed -n 's/.*"seconds":\([^,]*\),.*/\1/p'
    done | sort -g | head -n 1 | awk -v n="$repeat" '{ print $1 / n }'
}

# row FIGURE LABEL NAME ARGUMENT...: one line for each number of threads
row() {
    figure=$1 label=$2 program=$3
    shift 3
    one=
    for team in $threads; do
        time=$(seconds "$program" "$team" "$@")
        [ -n "$one" ] || one=$time
        awk -v one="$one" -v time="$time" -v label="$label" -v team="$team" \
            'BEGIN { printf "%s,%d,%.6g,%.4f\n", label, team, time, one / time }' >> "$output/$figure.csv"
    done
}

# begin FIGURE WHAT
begin() { echo "$2,threads,seconds,speedup" > "$output/$1.csv"; }

# draw FIGURE TITLE COLUMN LABEL: bars for each label, a colour for each number of threads
draw() {
    {
        echo "set terminal svg size 800,500; set output '$1-$4.svg'"
        echo "set datafile separator ','; set title \"$2\"; set ylabel '$4'"
        echo "set style data histograms; set style fill solid 0.8; set yrange [0:*]"
        echo "set key top left; set xtics rotate by -30"
        printf 'plot '
        first=
        for team in $threads; do
            printf '%s"< awk -F, '\''NR > 1 && $2 == %s'\'' %s.csv" using %s:xtic(1) title "%s threads"' \
                "$first" "$team" "$1" "$3" "$team"
            first=', '
        done
        echo
    } > "$output/$1-$4.gp"
}

both() {
    draw "$1" "$2" 3 seconds
    draw "$1" "$2" 4 speedup
}

# Section 4.4: the working set against the largest cache.
begin working-set size
for size in 0.125x 0.25x 0.5x 1x 2x 4x 8x; do
    row working-set "$size" working_set --size "$size" --shared 1
done
both working-set "working set, in sizes of the largest cache"

# Listings 4.5 and 4.6: rows against columns.
begin rows-columns order
for order in row column; do row rows-columns "$order" order2d --order "$order" --size 8x; done
both rows-columns "rows (4.5) against columns (4.6)"

# Figures 4.7 to 4.10: orders of two and three loops against one, in and beyond the cache.
for size in 1x 8x; do
    begin "orders-2d-$size" order
    for order in line row column tile; do
        row "orders-2d-$size" "$order" order2d --order "$order" --size "$size"
    done
    both "orders-2d-$size" "a matrix of $size the largest cache"
    begin "orders-3d-$size" order
    for order in line ijk ikj jik jki kij kji; do
        row "orders-3d-$size" "$order" order3d --order "$order" --size "$size"
    done
    both "orders-3d-$size" "a cube of $size the largest cache"
done

# Section 3.1: from good to bad accesses.
begin synthetic share
for share in 0 25 50 75 100; do
    row synthetic "latency-$share" synthetic --latency "$share" --size 8x
done
for reuse in 1 4 16; do row synthetic "reuse-$reuse" synthetic --reuse "$reuse" --size 8x; done
for operations in 0 4 16 64; do
    row synthetic "arithmetic-$operations" synthetic --arithmetic "$operations" --size 8x
done
both synthetic "the synthetic loop, from bad to good"

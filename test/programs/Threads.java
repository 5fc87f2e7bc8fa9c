// SPDX-License-Identifier: GPL-2.0-only
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import sun.misc.Signal;

/** Fifty threads that compute, allocate, lock and sleep; on SIGTERM it says whether all is right. */
public class Threads {
    static final AtomicBoolean ending = new AtomicBoolean();
    static final AtomicLong wrong = new AtomicLong();
    static final AtomicLong done = new AtomicLong();
    static final ConcurrentHashMap<Integer, Integer> sums = new ConcurrentHashMap<>();
    static long guarded = 0;

    static int sum(int seed) {
        int[] numbers = new int[20_000];
        for (int i = 0; i < numbers.length; i++)
            numbers[i] = i * seed;
        return Arrays.hashCode(numbers);
    }

    static void work(int seed) {
        while (!ending.get()) {
            final int sum = sum(seed);
            final Integer known = sums.putIfAbsent(seed, sum);
            if (known != null && known != sum)
                wrong.incrementAndGet();
            synchronized (Threads.class) {
                guarded++;
            }
            done.incrementAndGet();
            try {
                Thread.sleep(seed % 7);
            } catch (InterruptedException e) {
                wrong.incrementAndGet();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Signal.handle(new Signal("TERM"), signal -> ending.set(true));
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= 50; i++) {
            final int seed = i;
            threads.add(new Thread(() -> work(seed)));
        }
        for (Thread thread : threads)
            thread.start();
        while (sums.size() < 50)
            Thread.sleep(10);
        System.out.println("READY");
        for (Thread thread : threads)
            thread.join();
        final boolean right = wrong.get() == 0 && guarded == done.get();
        System.out.println(right ? "PASS" : "FAIL " + wrong + " wrong, " + guarded + " of " + done + " counted");
        System.exit(right ? 0 : 1);
    }
}

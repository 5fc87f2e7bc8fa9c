// SPDX-License-Identifier: GPL-2.0-only
// A program that has itself dumped, as virtual machines with checkpoints do: usage: Checkpointed CRIU IMAGES. It waits for the signal
// by which an action script tells it that it runs again, looks at what it had before, and ends with 23.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import sun.misc.Signal;

public class Checkpointed {
    private static volatile long counted;

    public static void main(String[] arguments) throws Exception {
        CountDownLatch resumed = new CountDownLatch(1);
        Signal.handle(new Signal("USR2"), signal -> resumed.countDown());
        List<String> kept = new ArrayList<>();
        for (int i = 0; i < 100000; ++i)
            kept.add("entry " + i);
        Thread counter = new Thread(() -> {
            while (true)
                ++counted;
        });
        counter.setDaemon(true);
        counter.start();
        long before = counted;

        // The shell ends at once, and criu begins when it has: whoever dumps this process mustn't descend from it.
        String self = Long.toString(ProcessHandle.current().pid());
        new ProcessBuilder("/bin/sh", "-c", "(while kill -0 $$; do sleep 0.01; done; exec \"$@\") </dev/null >/dev/null 2>&1 &", "sh", arguments[0], "dump", "-t", self, "-D",
                arguments[1], "--shell-job", "-v4", "-o", "dump4.log").inheritIO().start().waitFor();
        if (!resumed.await(60, TimeUnit.SECONDS))
            fail("nobody says that this process was restored");
        for (int i = 0; i < kept.size(); ++i)
            if (!kept.get(i).equals("entry " + i))
                fail("entry " + i + " is " + kept.get(i));
        long now = counted;
        Thread.sleep(100);
        if (now < before || counted <= now)
            fail("the thread doesn't count on");
        System.out.println("restored");
        System.exit(23);
    }

    private static void fail(String what) {
        System.out.println(what);
        System.exit(1);
    }
}

// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("files in flight between processes; other processes have them open") {
    zdtm::write_file("data", "0123456789");
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    const int file = SYS(open("data", O_RDONLY));
    int ends[2];
    SYS(pipe(ends));
    const pid_t receiver = me.start_child([&](zdtm::Task& task) {
        for (const int fd : {pair.one, file, ends[0], ends[1]}) {
            SYS(close(fd));
        }
        task.wait_for_check();
        const zdtm::Message got = zdtm::receive(pair.other);
        CHECK(got == "files" && got.descriptors.size() == 2, "'%s'", got.data.c_str());
        char byte = 0;
        CHECK(read(got.descriptors[0], &byte, 1) == 1 && byte == '4', "read '%c'", byte);
        SYS(write(got.descriptors[1], "through", 7));
    });
    const pid_t holder = me.start_child([&](zdtm::Task& task) {
        for (const int fd : {pair.one, pair.other, ends[0], ends[1]}) {
            SYS(close(fd));
        }
        task.wait_for_check();
        CHECK(lseek(file, 0, SEEK_CUR) == 5, "another description: at %ld",
              static_cast<long>(lseek(file, 0, SEEK_CUR)));
    });
    SYS(lseek(file, 4, SEEK_SET));
    zdtm::send_message(pair.one, "files", {file, ends[1]});
    for (const int fd : {pair.one, pair.other, file, ends[1]}) {
        SYS(close(fd));
    }
    me.wait_for_check();

    me.finish(receiver);
    me.finish(holder);
    char text[8] = {};
    CHECK(read(ends[0], text, sizeof text) == 7 && memcmp(text, "through", 7) == 0, "'%s'", text);
    CHECK(read(ends[0], text, 1) == 0, "the pipe has a writer");
}

// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 3, map .*
// zdtm: fails-with-4.2 it wants --link-remap
// zdtm: not-in leave-running
#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a file that lost its name, but has another one in the same directory, is restored under that one") {
    zdtm::write_file("name", "content");
    const int file = SYS(open("name", O_RDWR));
    SYS(link("name", "other"));
    SYS(unlink("name"));
    // sem_open(3) maps the file under a temporary name, which it then replaces by the final one.
    const std::string name = "/zdtm-" + std::to_string(getpid());
    sem_t* const semaphore = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 3);
    CHECK(semaphore != SEM_FAILED, "%s", strerror(errno));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(sem_trywait(semaphore) == 0, "the child's semaphore is another one");
    });
    me.wait_for_check();

    struct stat mine {};
    struct stat left {};
    SYS(fstat(file, &mine));
    SYS(stat("other", &left));
    CHECK(mine.st_ino == left.st_ino && mine.st_dev == left.st_dev, "not the same file any more");
    CHECK(mine.st_nlink == 1, "%lu links", static_cast<unsigned long>(mine.st_nlink));
    CHECK(access("name", F_OK) == -1, "the deleted name is back");
    me.finish(child);
    int value = 0;
    SYS(sem_getvalue(semaphore, &value));
    CHECK(value == 2, "the semaphore is %d", value);
    sem_t* const again = sem_open(name.c_str(), 0);
    CHECK(again != SEM_FAILED, "%s", strerror(errno));
    SYS(sem_post(again));
    SYS(sem_getvalue(semaphore, &value));
    CHECK(value == 3, "the name leads to another semaphore: %d", value);
    SYS(sem_unlink(name.c_str()));
}

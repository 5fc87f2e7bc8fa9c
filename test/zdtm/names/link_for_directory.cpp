// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: plant mkdir outside; cp mine/sub/data outside/data; chmod 600 outside/data; chown 0:0 outside/data; mv mine/sub mine/away; ln -s "$PWD/outside" mine/sub
// zdtm: unplant rm mine/sub; mv mine/away mine/sub; rm -r outside
// zdtm: refused-with mine/sub(/data)?, which its process may not open by itself
#include <fcntl.h>

#include "other_user.hpp"

ZDTM("at the restore, the directory of a user's file, working directory and mapping is a link to root's") {
    zdtm::make_users_directory("mine");
    zdtm::make_users_directory("mine/sub");
    zdtm::make_users_file("mine/sub/data", "0123456789");
    zdtm::become_user();
    const int file = SYS(open("mine/sub/data", O_RDWR));
    const auto memory = zdtm::map(4096, PROT_READ, MAP_SHARED, file);
    SYS(chdir("mine/sub"));
    me.wait_for_check();

    char text[11] = {};
    CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
    CHECK(memory[3] == std::byte{'3'}, "mapped: %c", static_cast<char>(memory[3]));
    CHECK(access("data", R_OK) == 0, "it is in another directory");
}

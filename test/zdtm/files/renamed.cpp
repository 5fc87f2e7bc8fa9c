// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("renamed files, and names that contain blanks, line breaks and ' (deleted)'") {
    zdtm::write_file("before", "1");
    const int renamed = SYS(open("before", O_RDONLY));
    SYS(rename("before", "after"));
    SYS(mkdir("a folder", 0755));
    const std::string names[] = {"a folder/with  blanks", "line\nbreak", "it is (deleted)", "tab\tand \\ and \303\244",
                                 std::string(255, 'n')};
    int files[5];
    for (unsigned i = 0; i < 5; ++i) {
        zdtm::write_file(names[i], std::to_string(i));
        files[i] = SYS(open(names[i].c_str(), O_RDONLY));
    }
    me.wait_for_check();

    char byte = 0;
    CHECK(read(renamed, &byte, 1) == 1 && byte == '1', "read %c", byte);
    for (unsigned i = 0; i < 5; ++i) {
        CHECK(read(files[i], &byte, 1) == 1 && byte == static_cast<char>('0' + i), "file %u: read %c", i, byte);
    }
}

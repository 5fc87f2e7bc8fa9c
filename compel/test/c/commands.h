/* SPDX-License-Identifier: LGPL-2.1-only */
/* Commands of infect.c to parasite.c. */
#ifndef COMPEL_TEST_COMMANDS_H
#define COMPEL_TEST_COMMANDS_H

#include <compel/infect-rpc.h>

enum {
    COMMAND_ADD = PARASITE_USER_CMDS, /* sum = first + second, and logs it */
    COMMAND_NAME,                     /* text = element `first` of a table of names */
    COMMAND_COUNT,                    /* sum = number of COMMAND_COUNT calls */
    COMMAND_SEND,                     /* sends descriptor `first` */
    COMMAND_RECEIVE,                  /* receives a descriptor; sum = number of the descriptor */
    COMMAND_THREAD,                   /* sum = tid of the thread that executes the command */
    COMMAND_FAIL                      /* fails with -5 */
};

struct arguments {
    int first;
    int second;
    long sum;
    char text[32];
};

#endif

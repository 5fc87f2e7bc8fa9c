/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_TASK_STATE_H
#define COMPEL_TASK_STATE_H

/* What compel_wait_task() finds, and compel_resume_task() makes. The numbers stand in images of criu. */
enum __compel_task_state {
    COMPEL_TASK_ALIVE = 1,
    COMPEL_TASK_DEAD = 2,
    COMPEL_TASK_STOPPED = 3,
    COMPEL_TASK_ZOMBIE = 6,
    COMPEL_TASK_MAX = 127
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_TASK_STATE_H
#define COMPEL_TASK_STATE_H

/* States of a task for compel_wait_task() and compel_resume_task(). Images of criu contain the numbers. */
enum __compel_task_state {
    COMPEL_TASK_ALIVE = 1,
    COMPEL_TASK_DEAD = 2,
    COMPEL_TASK_STOPPED = 3,
    COMPEL_TASK_ZOMBIE = 6,
    COMPEL_TASK_MAX = 127
};

#endif

#ifndef C_EMISORA_LINUX_H
#define C_EMISORA_LINUX_H

#include <sys/epoll.h>

#endif

/* Sets the resource limits of this process and everything it starts. */
void setResourceLimits(void);

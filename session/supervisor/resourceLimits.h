/* Sets the resource limits of this process and all that it starts. */
void setResourceLimits(void);
